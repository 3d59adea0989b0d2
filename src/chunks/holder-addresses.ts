import { lookup } from "node:dns";
import { lookup as resolve } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";

/**
 * Decides to which addresses a server or a worker connects to fetch a chunk. Whoever may register a worker chooses its `data_url`, and
 * must not reach with it what only this machine can: its own ports, and the metadata of its cloud.
 *
 * A loopback address is allowed if the holder itself is on this machine, a link-local one if the holder connects from it. Networks
 * that the operator names are allowed in any case.
 */
export class HolderAddresses {
  readonly #allowed: BlockList;

  /** Networks such as `10.0.0.0/8`, or single addresses. */
  constructor(allowed: readonly string[] = []) {
    this.#allowed = listOf(allowed);
  }

  /** `peer` is the address that the holder connects from. Without it the holder is on this machine. */
  permits(address: string, peer?: string): boolean {
    if (isIP(address) === 0 || address.includes("%")) return false;
    if (isIn(this.#allowed, address)) return true;
    if (isIn(LOOPBACK, address)) return peer === undefined || isLoopback(peer);
    return !isIn(SPECIAL, address) || address === peer;
  }
}

export function isLoopback(address: string): boolean {
  return isIP(address) !== 0 && isIn(LOOPBACK, address);
}

/** Returns all addresses of the host of a URL, and none if its name cannot be resolved now. */
export async function addressesOf(url: string): Promise<readonly string[]> {
  const host = hostOf(new URL(url));
  if (isIP(host) !== 0) return [host];
  const found = await resolve(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** Resolves a name like Node does, and fails if one of its addresses is not permitted. The connection uses these addresses. */
export function lookupWithin(permits: (address: string) => boolean): LookupFunction {
  return (name, options, done) => {
    lookup(name, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      if (error || !first) done(error ?? new Error(`${name} has no address`), "");
      else if (!found.every(({ address }) => permits(address))) done(new Error(NOT_PERMITTED), "");
      else if (options.all) done(null, found);
      else done(null, first.address, first.family);
    });
  };
}

export const NOT_PERMITTED =
  "its data_url leads to an address that is not allowed; an operator may allow it with --data-allow";

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    const [family, bits] = isIP(address) === 4 ? (["ipv4", 32] as const) : (["ipv6", 128] as const);
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family);
  }
  return list;
}

/** Addresses that a translator of IPv6 (NAT64) makes of these are refused with them. */
const LOOPBACK = listOf(["127.0.0.0/8", "::1", "64:ff9b::7f00:0/104"]);

const SPECIAL = listOf([
  "0.0.0.0/8",
  "100.100.100.200", // metadata in Alibaba Cloud
  "168.63.129.16", // the host of a virtual machine in Azure
  "169.254.0.0/16", // link-local, with the metadata of most clouds
  "192.0.0.192", // metadata in Oracle Cloud
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
  "::",
  "64:ff9b::a9fe:0/112",
  "fd00:ec2::254", // metadata in AWS
  "fe80::/10", // link-local
  "ff00::/8", // multicast
]);
