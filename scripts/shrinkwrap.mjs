// Writes npm-shrinkwrap.json before the package is packed, so that those who install it get the versions and hashes of the lock
// file. Removes it afterwards (--remove): in a checkout npm would read it instead of package-lock.json.

import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { productionPackages } from "./production-packages.mjs";

const at = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

if (process.argv[2] === "--remove") rmSync(at("npm-shrinkwrap.json"), { force: true });
else {
  const { root, packages } = productionPackages(at("package-lock.json"));
  const { devDependencies: _dev, workspaces: _workspaces, ...ours } = /** @type {any} */ (root);
  const { name, version } = ours;
  const shrinkwrap = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { "": ours, ...packages },
  };
  writeFileSync(at("npm-shrinkwrap.json"), `${JSON.stringify(shrinkwrap, null, 2)}\n`);
}
