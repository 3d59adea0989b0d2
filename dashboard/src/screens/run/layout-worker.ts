import { type GraphShape, layOut } from "./layout.ts";

/** On a thread of its own: twenty thousand nodes take a fraction of a second, and the page must not stand still meanwhile. */
self.onmessage = ({ data }: MessageEvent<GraphShape>) => {
  self.postMessage(layOut(data));
};
