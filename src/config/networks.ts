import { isNetwork } from "../webhooks/addresses.ts";
import { list, text } from "./value-type.ts";

export const NETWORKS = list(
  text("a network such as 10.0.0.0/8 or fd00::/8", (network) => !isNetwork(network)),
  "[10.0.0.0/8]",
);
