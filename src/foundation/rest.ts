import { after } from './world.js';

const REST_MS = 15;
/** A page this large has more behind it: whoever is that late does not rest. */
const SMALL_PAGE = 100;

/**
 * A follower's rest between two pages. What arrives meanwhile is one page, which costs little more
 * than one event. Nobody waits longer for it: it ends at once for a caller that waits.
 */
export class Rest {
  private endNow: (() => void) | undefined;

  /** @param isAwaited whether a caller waits for the next page. */
  constructor(
    private readonly isAwaited: () => boolean = () => false,
    private readonly ms = REST_MS,
  ) {}

  /** @param page the number of events in the last page. Never rejects. */
  take(page: number, signal: AbortSignal): Promise<void> {
    if (page >= SMALL_PAGE || signal.aborted || this.isAwaited()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener('abort', end);
        this.endNow = undefined;
        resolve();
      };
      const cancel = after(this.ms, end);
      signal.addEventListener('abort', end);
      this.endNow = end;
    });
  }

  /** A caller waits. */
  end(): void {
    this.endNow?.();
  }
}
