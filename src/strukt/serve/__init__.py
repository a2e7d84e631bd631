"""A service for saved models: a web page to try them, and a JSON API for programs.

`app` is the FastAPI application with its addresses, which Uvicorn runs with the protocol of `connections`. It
calls `service`, which holds each `served_model` and the `workers` that compute. `messages` are the requests and
responses.
"""
