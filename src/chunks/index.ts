export { ChunkServer, type ChunkServerOptions } from "./chunk-server.ts";
export { ChunkStore, type ChunkStoreOptions } from "./chunk-store.ts";
export {
  checkedPieces,
  decode,
  type Encoded,
  encode,
  encodedInline,
  handleOf,
  inlineOf,
  isByteStream,
} from "./encoding.ts";
export { ChunkError, InputMissing } from "./errors.ts";
export { Fetcher, type Landed } from "./fetcher.ts";
export { isPlainJson } from "./plain-json.ts";
