"""A service for saved models: a web page to try them, and a JSON API for programs.

`app` has the FastAPI application and its URL paths; Uvicorn runs it with the protocol of `connections`. The
application calls the service in `service`, which holds the served models (`served_model`) and the threads that
compute (`workers`). `messages` has the requests and responses.
"""
