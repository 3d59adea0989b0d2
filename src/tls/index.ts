/**
 * Certificates: which one a process shows when it listens, and which ones it trusts when it connects. Servers, workers,
 * the command line and the client library all connect by `connectOptions`, so one file of certificates is trusted
 * everywhere (`--tls-ca`, ORRERY_TLS_CA).
 */

export { connectOptions, secureFetch, trust } from "./client.ts";
export { readServerTls, type ServerTls } from "./files.ts";
