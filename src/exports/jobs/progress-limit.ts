import { after, elapsed } from '../../foundation/world.js';

/** Limits the time without progress: an attempt that hangs would keep its place for good. */
export class ProgressLimit {
  private notedAt = elapsed();
  private cancel: () => void;

  /** @param onStalled called once, when nothing was noted for `ms`. */
  constructor(
    private readonly ms: number,
    private readonly onStalled: () => void,
  ) {
    this.cancel = after(ms, this.look);
  }

  /** There was progress. */
  note(): void {
    this.notedAt = elapsed();
  }

  end(): void {
    this.cancel();
  }

  private readonly look = (): void => {
    const leftMs = this.notedAt + this.ms - elapsed();
    if (leftMs > 0) this.cancel = after(leftMs, this.look);
    else this.onStalled();
  };
}
