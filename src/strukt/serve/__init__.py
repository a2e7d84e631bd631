"""A service for saved models: a web page to try them, and a JSON API for programs.

`app` has the FastAPI application with its addresses, which Uvicorn runs with the protocol of `connections`. It
calls the service in `service`, which holds the served models (`served_model`) and the threads that compute
(`workers`). `messages` has the requests and responses.
"""
