import { after, elapsed } from '../../foundation/world.js';

/** Limits the time without progress: an attempt that hangs would keep its place for good. */
export class ProgressLimit {
  private notedAt = elapsed();
  private cancel: () => void;
  private suspended = 0;

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

  /** Progress is not expected while this runs. */
  async suspend<T>(work: () => Promise<T>): Promise<T> {
    this.suspended += 1;
    try {
      return await work();
    } finally {
      this.suspended -= 1;
      this.note();
    }
  }

  end(): void {
    this.cancel();
  }

  private readonly look = (): void => {
    if (this.suspended > 0) this.note();
    const leftMs = this.notedAt + this.ms - elapsed();
    if (leftMs > 0) this.cancel = after(leftMs, this.look);
    else this.onStalled();
  };
}
