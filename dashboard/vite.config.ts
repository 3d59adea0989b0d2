import { defineConfig } from "vite";

export default defineConfig({
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2023",
    // Every browser that it is built for knows module preloads, and nothing may be inline.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  // `npx vite dashboard` serves the sources; the API is that of `npm start`.
  server: { proxy: { "/api": "http://127.0.0.1:2026" } },
});
