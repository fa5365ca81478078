import { elapsed } from '../foundation/world.js';

const EVERY_MS = 1_000;

/** Shows how many rows are written, at which rate, and the time that is left, every second. */
export class ExportProgressLines {
  private begun: { readonly at: number; readonly rows: number } | undefined;
  private saidAt = -Infinity;
  private isLineOpen = false;

  constructor(
    private readonly out: { readonly isTTY?: boolean; write(text: string): unknown },
    private readonly now: () => number = elapsed,
  ) {}

  /** @param total undefined: the writing has not begun. */
  at(rows: number, total: unknown): void {
    const now = this.now();
    if (now - this.saidAt < EVERY_MS) return;
    this.saidAt = now;
    if (typeof total !== 'number') return this.say('waiting');
    this.begun ??= { at: now, rows };
    const seconds = (now - this.begun.at) / 1_000;
    const rate = seconds > 0 ? Math.round((rows - this.begun.rows) / seconds) : 0;
    const left = rate > 0 ? `, ${Math.ceil((total - rows) / rate)} s left` : '';
    this.say(`${rows} of ${total} rows, ${rate} a second${left}`);
  }

  /** Ends the changing line. */
  end(): void {
    if (this.isLineOpen) this.out.write('\n');
    this.isLineOpen = false;
  }

  private say(line: string): void {
    this.isLineOpen = this.out.isTTY === true;
    this.out.write(this.isLineOpen ? `\r\u001b[K${line}` : `${line}\n`);
  }
}
