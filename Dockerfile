# An image with depthforest and compiled kernels: the first command answers at once.
#   docker build -t depthforest .
#   docker run --rm -v "$PWD:/data" depthforest label /data/frame.png -o /data/out --camera kinect_v1
FROM python:3.12-slim

WORKDIR /app
COPY . /src
RUN pip install --no-cache-dir '/src[recordings,zarr]' && rm -rf /src

# kernels are compiled for the processor that builds the image, and kept where every user can read them
ENV NUMBA_CACHE_DIR=/opt/depthforest/kernels
RUN depthforest warm-up --all && chmod -R a+rX /opt/depthforest

ENTRYPOINT ["depthforest"]
CMD ["--help"]
