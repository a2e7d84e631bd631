# A service of the models in /models, one folder each:
#   docker build --tag strukt .
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume "$PWD/strukt-demo:/models:ro" strukt /models/parser
FROM python:3.12-slim

# What is compiled here is found by every container on a processor of the same kind; on others it is compiled at the start.
ENV NUMBA_CACHE_DIR=/var/cache/strukt PYTHONUNBUFFERED=1
RUN useradd --system --create-home strukt && install --directory --owner=strukt "$NUMBA_CACHE_DIR"

WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
    --constraint constraints.txt ".[serve,onnx]"

USER strukt
WORKDIR /models
RUN strukt warm-up

EXPOSE 8000
HEALTHCHECK --start-period=2m --interval=30s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
ENTRYPOINT ["strukt", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["/models/parser"]
