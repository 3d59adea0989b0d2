export { NotGiven, requestChunk } from "./chunk-request.ts";
export { ChunkServer, type ChunkServerOptions } from "./chunk-server.ts";
export { type ChunkOwner, ChunkStore, type ChunkStoreOptions } from "./chunk-store.ts";
export {
  type ByteStream,
  checkedPieces,
  decode,
  type Encoded,
  encode,
  encodedInline,
  handleOf,
  inlineOf,
  isByteStream,
  isInlineJson,
} from "./encoding.ts";
export { ChunkError, InputMissing } from "./errors.ts";
export { Fetcher, type Landed } from "./fetcher.ts";
export { addressesOf, HolderAddresses, isLoopback, NOT_PERMITTED } from "./holder-addresses.ts";
export { isResizable } from "./pages.ts";
export { isPlainJson } from "./plain-json.ts";
