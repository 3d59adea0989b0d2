import { BlockList, isIP } from "node:net";

/**
 * Which addresses the server may connect to on behalf of an admin of a zone. An admin can make this server send
 * requests, and must not reach with them what only this server can: its own machine, its network, the metadata of its
 * cloud. So only what is public is let through, and what the operator names.
 *
 * IPv4 is public unless IANA's registry of special addresses says otherwise; of IPv6 only 2000::/3 is in use as
 * public, and in it what stands for an IPv4 address that would be reached through a relay is not.
 */
export class AddressRules {
  readonly #allowed = new BlockList();

  /** Networks such as `10.0.0.0/8`, or single addresses. */
  constructor(allowed: readonly string[] = []) {
    for (const text of allowed) {
      const network = networkOf(text);
      if (!network) throw new RangeError(`${text} is no network; one looks like 10.0.0.0/8 or fd00::/8`);
      this.#allowed.addSubnet(network.address, network.prefix, network.family);
    }
  }

  permits(address: string): boolean {
    // A scope (`fe80::1%eth0`) makes an address one of this machine's own networks.
    const family = address.includes("%") ? 0 : isIP(address);
    if (family === 0) return false;
    if (this.#allowed.check(address, family === 4 ? "ipv4" : "ipv6")) return true;
    if (family === 4) return !SPECIAL_IPV4.check(address, "ipv4");
    if (NAT64.check(address, "ipv6")) return this.permits(lastFourBytes(address));
    return PUBLIC_IPV6.check(address, "ipv6") && !SPECIAL_IPV6.check(address, "ipv6");
  }
}

export function isNetwork(text: string): boolean {
  return networkOf(text) !== undefined;
}

function networkOf(
  text: string,
): { readonly address: string; readonly prefix: number; readonly family: "ipv4" | "ipv6" } | undefined {
  const [, address = "", digits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address);
  const bits = version === 4 ? 32 : 128;
  const prefix = digits === undefined ? bits : Number(digits);
  if (version === 0 || prefix > bits) return undefined;
  return { address, prefix, family: version === 4 ? "ipv4" : "ipv6" };
}

const SPECIAL_IPV4 = listOf("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10", // shared by a provider's customers
  "127.0.0.0/8",
  "168.63.129.16/32", // the host, to a machine in Azure
  "169.254.0.0/16", // link-local, where clouds keep their metadata
  "172.16.0.0/12",
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24", // relays of 6to4
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
]);

const PUBLIC_IPV6 = listOf("ipv6", ["2000::/3"]);

const SPECIAL_IPV6 = listOf("ipv6", [
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48",
  "3ffe::/16", // what was the 6bone
  "3fff::/20", // documentation
]);

/** Where a network has only IPv6, its translator makes these of public names; what they stand for decides. */
const NAT64 = listOf("ipv6", ["64:ff9b::/96"]);

function listOf(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

function lastFourBytes(address: string): string {
  // A URL writes every spelling of an address the same way, in groups of hex.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":");
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
