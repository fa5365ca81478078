import type { Position, RecordedEvent } from '../event-log/event-log.js';
import { PAGE_BYTES_MAX, storedBytes } from '../event-log/event-pages.js';

/** Pages that are kept, each of `PAGE_BYTES_MAX` at most. */
const PAGES_MAX = 16;

/**
 * The last pages read by handlers that catch up together, say after a restore. The first handler
 * reads and decodes a page, so that the others draw level with it.
 */
export class CatchUpPages<Page> {
  /** By the position before them. */
  private readonly pages = new Map<Position, Promise<Page | undefined>>();

  /** @param decode undefined: an empty page. */
  constructor(
    private readonly read: (after: Position | undefined) => Promise<readonly RecordedEvent[]>,
    private readonly decode: (recorded: readonly RecordedEvent[]) => Promise<Page | undefined>,
  ) {}

  /** @throws the errors of `read` and `decode`; the next call tries again. */
  after(position: Position | undefined): Promise<Page | undefined> {
    const key = position ?? '';
    const known = this.pages.get(key);
    if (known) return known;
    const page = this.read(position).then((recorded) => {
      const bytes = recorded.reduce((sum, event) => sum + storedBytes(event), 0);
      if (bytes > PAGE_BYTES_MAX) this.pages.delete(key);
      return this.decode(recorded);
    });
    this.pages.set(key, page);
    const [oldest = key] = this.pages.keys();
    if (this.pages.size > PAGES_MAX) this.pages.delete(oldest);
    const forget = (): void => void this.pages.delete(key);
    // An empty page is read again.
    page.then((read) => read ?? forget(), forget);
    return page;
  }

  clear(): void {
    this.pages.clear();
  }
}
