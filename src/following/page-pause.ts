import { pause } from '../foundation/pause.js';

const PAUSE_MS = 15;
/** A larger page shows that the follower lags and must not pause. */
const SMALL_PAGE = 100;

/** Lets new events gather in one page, which costs little more than one event. */
export class PagePause {
  private current = new AbortController();

  /** @param isAwaited whether a caller waits for the next page. */
  constructor(
    private readonly isAwaited: () => boolean = () => false,
    private readonly ms = PAUSE_MS,
  ) {}

  /** @param page events in the last page. Never rejects. */
  take(page: number, signal: AbortSignal): Promise<void> {
    if (page >= SMALL_PAGE || signal.aborted || this.isAwaited()) return Promise.resolve();
    const current = (this.current = new AbortController());
    const end = (): void => current.abort();
    signal.addEventListener('abort', end);
    return pause(this.ms, current.signal).finally(() => signal.removeEventListener('abort', end));
  }

  end(): void {
    this.current.abort();
  }
}
