// The packages that come with an installed Orrery, by the lock file: for the shrinkwrap and the list of licences.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Locked
 * @property {string} [version]
 * @property {string} [license]
 * @property {string} [resolved]
 * @property {boolean} [link]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */

/**
 * Reads the lock file and follows dependencies and optional dependencies from the root, as npm resolves them.
 *
 * @param {string} lockFile
 * @param {readonly string[]} [also] names of more packages to begin with
 * @returns {{ root: Locked & { name: string }, packages: Record<string, Locked> }} packages by path, sorted
 */
export function productionPackages(lockFile, also = []) {
  /** @type {{ packages: Record<string, Locked> & { "": Locked & { name: string } } }} */
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8"));
  /** @type {Map<string, Locked>} */
  const found = new Map();
  const waiting = [""];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const { dependencies = {}, optionalDependencies = {} } = packages[path] ?? {};
    const names = Object.keys({ ...dependencies, ...optionalDependencies });
    for (const name of path === "" ? [...names, ...also] : names) {
      const place = placeOf(name, path, packages);
      // The lock file of some machines leaves out optional packages of other platforms.
      if (place === undefined && name in optionalDependencies) continue;
      if (place === undefined)
        throw new Error(`${lockFile}: ${name}, which ${path || "the root"} needs, is missing`);
      if (found.has(place)) continue;
      found.set(place, /** @type {Locked} */ (packages[place]));
      waiting.push(place);
    }
  }
  return {
    root: packages[""],
    packages: Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/**
 * The nearest `node_modules` that holds the package, seen from the package that needs it.
 *
 * @param {string} name
 * @param {string} from
 * @param {Record<string, Locked>} packages
 */
function placeOf(name, from, packages) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (place in packages) return place;
    if (folder === "") return undefined;
  }
}

/** The same, and the packages of the dashboard: it is compiled, so to npm they are all for development. */
export function shippedPackages() {
  const at = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
  const { devDependencies } = JSON.parse(readFileSync(at("dashboard/package.json"), "utf8"));
  const compiled = Object.keys(devDependencies).filter(
    (name) => name !== "vite" && !name.startsWith("@types/"),
  );
  return productionPackages(at("package-lock.json"), compiled);
}

/**
 * The name of the package at a path of the lock file.
 *
 * @param {string} path
 */
export function nameOf(path) {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
