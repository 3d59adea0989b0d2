import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { redeemTicket } from "./api/ticket.ts";
import { App } from "./app.tsx";
import { listenToKeys } from "./shell/shortcuts.ts";
import { applyTheme, theme } from "./shell/theme.ts";

applyTheme(theme.get());
listenToKeys();
await redeemTicket();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
