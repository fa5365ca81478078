import { withThousands } from '../foundation/thousands.js';

const EVERY_MS = 1_000;
/** Rates are measured over this time, so that they follow a store that becomes slower. */
const RATE_OVER_MS = 10_000;

interface Figures {
  readonly phase: string;
  readonly done: number;
  readonly total: number | undefined;
  /** In milliseconds. */
  readonly at: number;
}

/**
 * Shows the progress of an operation every second: on a terminal in one changing line, elsewhere as
 * plain lines.
 */
export class ProgressLine {
  private seen: Figures[] = [];
  private shownAt = -Infinity;
  private isLineOpen = false;
  /** The newest figures while they were not shown. */
  private waiting: Figures | undefined;

  constructor(
    private readonly out: { readonly isTTY?: boolean; write(text: string): unknown },
    private readonly now: () => number = () => performance.now(),
  ) {}

  readonly at = (phase: string, done: number, total?: number): void => {
    const figures = { phase, done, total, at: this.now() };
    const isNewPhase = phase !== this.seen.at(-1)?.phase;
    if (isNewPhase) this.showWaiting();
    if (isNewPhase) this.seen = [];
    this.waiting = figures;
    if (isNewPhase || figures.at - this.shownAt >= EVERY_MS) this.showWaiting();
  };

  /** Shows the newest figures and ends the changing line. */
  end(): void {
    this.showWaiting();
    if (this.isLineOpen) this.out.write('\n');
    this.isLineOpen = false;
  }

  private showWaiting(): void {
    const figures = this.waiting;
    if (figures === undefined) return;
    this.waiting = undefined;
    this.shownAt = figures.at;
    this.seen.push(figures);
    while ((this.seen[1]?.at ?? figures.at) < figures.at - RATE_OVER_MS) this.seen.shift();
    const line = progressLine(figures, this.rate(figures));
    // `\x1b[K` clears the rest of a longer line.
    this.out.write(this.out.isTTY ? `\r${line}\x1b[K` : `${line}\n`);
    this.isLineOpen = this.out.isTTY ?? false;
  }

  /** Per second; 0: unknown. */
  private rate({ at, done }: Figures): number {
    const [oldest] = this.seen;
    return oldest === undefined || at === oldest.at
      ? 0
      : ((done - oldest.done) * 1_000) / (at - oldest.at);
  }
}

/** `replaying: 12,000 of 50,000 (24 %), 3,400 a second, 12 s left` */
function progressLine({ phase, done, total }: Figures, rate: number): string {
  if (done === 0 && total === undefined) return phase;
  const share = total === undefined ? '' : ` of ${withThousands(total)}`;
  const percent = total ? ` (${Math.floor((done * 100) / total)} %)` : '';
  const speed = rate > 0 ? `, ${withThousands(Math.round(rate))} a second` : '';
  const isGoingOn = rate > 0 && total !== undefined && done < total;
  const left = isGoingOn ? `, ${duration((total - done) / rate)} left` : '';
  return `${phase}: ${withThousands(done)}${share}${percent}${speed}${left}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 120) return `${whole} s`;
  return whole < 7_200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3_600)} h`;
}
