// Prints a software bill of materials (CycloneDX, JSON) of what is shipped: the packages that are installed with Orrery, and those that
// are compiled into its dashboard. `npm run sbom > sbom.json`

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { nameOf, shippedPackages } from "./production-packages.mjs";
import { npm } from "./run.mjs";

const { root, packages } = shippedPackages();
const shipped = new Set(Object.entries(packages).map(([path, { version }]) => `${nameOf(path)}@${version}`));
const [command, args] = npm("sbom", "--sbom-format=cyclonedx", "--package-lock-only");
const cwd = fileURLToPath(new URL("..", import.meta.url));
/** @type {{ metadata: { component: { name: string } }, components: Ref[], dependencies: Ref[] }} */
const all = JSON.parse(
  execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 64 << 20,
    stdio: ["ignore", "pipe", "inherit"],
  }),
);
// npm names the root after its folder.
const component = { ...all.metadata.component, name: root.name };
const sbom = {
  ...all,
  metadata: { ...all.metadata, component },
  components: all.components.filter(isShipped),
  dependencies: all.dependencies.filter(isShipped).map(withoutOthers),
};
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`);

/** @typedef {{ "bom-ref"?: string, ref?: string, dependsOn?: string[] }} Ref */

/** @param {Ref} part */
function isShipped({ "bom-ref": component, ref = component }) {
  return shipped.has(ref ?? "");
}

/** @param {Ref} dependency */
function withoutOthers({ dependsOn = [], ...dependency }) {
  return { ...dependency, dependsOn: dependsOn.filter((ref) => shipped.has(ref)) };
}
