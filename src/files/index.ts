export { makeDirectory } from "./make-directory.ts";
export { readSecretFile, writeSecretFile } from "./secret-file.ts";
