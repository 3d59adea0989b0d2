export type { FileNode, Work } from "./file-node.ts";
export { type GraphFile, readGraphFile } from "./graph-file.ts";
export { closest } from "./suggestion.ts";
