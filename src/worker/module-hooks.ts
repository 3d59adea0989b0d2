/**
 * How Node resolves and loads a tasks file and what it imports. Node runs these in a thread of their own, after
 * `register` in tasks-file.ts.
 */

import { readFile } from "node:fs/promises";
import type { LoadHook, ResolveHook } from "node:module";
import { fileURLToPath } from "node:url";
import { stripTypes } from "./strip-types.ts";

export interface HookData {
  /** What `orrery/worker` stands for, wherever the importing file lies: the very modules that run the worker. */
  readonly door: string;
}

let door = "";
/** The folder of this package, which may itself lie among others' packages, and has examples in TypeScript. */
let own = "";

export function initialize(data: HookData): void {
  door = data.door;
  own = new URL("../../", door).href;
}

export const resolve: ResolveHook = async (specifier, context, next) => {
  if (specifier === "orrery/worker") return { url: door, shortCircuit: true };
  try {
    return await next(specifier, context);
  } catch (error) {
    // The way of TypeScript before it allowed to name the file as it is: `./image.js` means image.ts.
    const source = /^(\.{1,2}\/.*\.m?)js$/.exec(specifier)?.[1];
    if (source === undefined || !isTypeScript(context.parentURL)) throw error;
    try {
      return await next(`${source}ts`, context);
    } catch {
      throw error;
    }
  }
};

export const load: LoadHook = async (url, context, next) => {
  if (!isTypeScript(url)) return next(url, context);
  const file = fileURLToPath(url);
  return {
    format: "module",
    source: await stripTypes(await readFile(file, "utf8"), file),
    shortCircuit: true,
  };
};

/** Packages bring JavaScript; their sources, if they are there, are not meant to be run. */
function isTypeScript(url: string | undefined): boolean {
  if (url === undefined || !/^file:.*\.m?ts$/.test(url)) return false;
  return !(url.startsWith(own) ? url.slice(own.length - 1) : url).includes("/node_modules/");
}
