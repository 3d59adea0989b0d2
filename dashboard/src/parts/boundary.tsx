import { Component, type ReactNode } from "react";

/** A mistake of ours in one screen leaves the others usable. */
export class Boundary extends Component<
  { readonly children: ReactNode },
  { readonly error: Error | undefined }
> {
  override state = { error: undefined as Error | undefined };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="panel problem" role="alert">
        <p>This page has run into a mistake of ours: {error.message}</p>
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </div>
    );
  }
}
