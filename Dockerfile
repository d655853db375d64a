# syntax=docker/dockerfile:1
# One image for all roles; docker-compose.yml chooses by command. What only the embedded defaults need is left out.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY bot/crypto-stub bot/crypto-stub
RUN npm ci --omit=optional --no-audit --no-fund
COPY . .
RUN PRISMA_SCHEMA_ENGINE_BINARY=/bin/true npx prisma generate \
 && npm prune --omit=dev --omit=optional --no-audit --no-fund

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build --chown=root:root /app/node_modules node_modules
COPY --from=build --chown=root:root /app/package.json /app/SOUL.md ./
COPY --from=build --chown=root:root /app/bot bot
COPY --from=build --chown=root:root /app/core core
COPY --from=build --chown=root:root /app/jobs jobs
COPY --from=build --chown=root:root /app/prisma prisma
COPY --from=build --chown=root:root /app/seeds seeds
USER node
EXPOSE 8090
ENTRYPOINT ["node", "core/main.ts"]
CMD ["start"]
