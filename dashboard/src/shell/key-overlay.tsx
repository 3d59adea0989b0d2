import { Dialog } from "../parts/dialog.tsx";
import { useKnownShortcuts } from "./shortcuts.ts";

/** All that can be done by keys here. */
export function KeyOverlay({ onClose }: { readonly onClose: () => void }) {
  const shortcuts = useKnownShortcuts();
  return (
    <Dialog title="Keys" onClose={onClose}>
      <h2>Keys</h2>
      <table>
        <tbody>
          {shortcuts.map(({ keys, does }) => (
            <tr key={keys}>
              <td>
                <kbd>{keys.replace("mod+", "Ctrl ").replace("Enter", "↵")}</kbd>
              </td>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
