# geomsolve on a CPU, with everything but torch.  From the project's folder:
#
#   docker build -t geomsolve .
#   docker run --rm geomsolve imbalance --props 0.7,0.2,0.1
#   docker run --rm -v "$PWD:/work" geomsolve batch my-problems --out answers.jsonl
#
# With torch, for `check` and compare's pt files (the CPU build; about 900 MB more):
#
#   docker build -t geomsolve:torch --build-arg TORCH=1 .
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY geomsolve geomsolve
COPY problems problems
RUN pip wheel --no-deps --no-cache-dir --wheel-dir /wheels .

FROM python:3.12-slim
ARG TORCH=
COPY --from=build /wheels /wheels
RUN if [ -n "$TORCH" ]; then pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu; fi \
    && wheel=$(echo /wheels/geomsolve-*.whl) \
    && pip install --no-cache-dir "$wheel[dask,parquet,plot,proof${TORCH:+,torch}]" \
    && rm -r /wheels \
    && useradd --create-home geomsolve
USER geomsolve
WORKDIR /work
ENTRYPOINT ["geomsolve"]
CMD ["--help"]
