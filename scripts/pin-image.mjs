// Pins the Dockerfile's base image to the digest that its tag has now:
//
//   npm run pin-image                      # the tag that the Dockerfile names
//   npm run pin-image -- node:26.11-trixie-slim
//
// A tag can be moved to other content; a digest cannot. Needs Docker with buildx and a network. Run it to take in security fixes
// of the base image, build, test, and commit the changed line.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const LINE = /^ARG NODE_IMAGE=(?<tag>[^@\s]+)(?:@sha256:[0-9a-f]{64})?$/m;

const file = fileURLToPath(new URL("../deploy/Dockerfile", import.meta.url));
const dockerfile = readFileSync(file, "utf8");
const tag = process.argv[2] ?? LINE.exec(dockerfile)?.groups?.["tag"];
if (tag === undefined) fail(`${file} has no line ARG NODE_IMAGE=node:TAG`);
const digest = digestOf(tag);
writeFileSync(file, dockerfile.replace(LINE, `ARG NODE_IMAGE=${tag}@${digest}`));
process.stdout.write(`${tag}@${digest}\n`);

/**
 * The digest of the list of all platforms, so that one line serves all of them.
 *
 * @param {string} image
 */
function digestOf(image) {
  const args = ["buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}"];
  let printed = "";
  try {
    printed = execFileSync("docker", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch (error) {
    const { stderr, message } = /** @type {{ stderr?: string, message: string }} */ (error);
    fail(`the digest of ${image} cannot be resolved: ${stderr?.trim() || message}`);
  }
  if (!/^sha256:[0-9a-f]{64}$/.test(printed)) fail(`docker printed no digest of ${image}, but: ${printed}`);
  return printed;
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
