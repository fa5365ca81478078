import type { VerifyPhase } from '../operations/ledger/ledger-verification.js';
import type { CopyPhase } from '../operations/log/log-move.js';

/** The phases that show progress. */
export type ProgressPhase = CopyPhase | VerifyPhase | 'replaying' | 'reconciling';

const EVERY_MS = 1_000;
/** Rates are measured over this time, so that they follow a store that becomes slower. */
const RATE_OVER_MS = 10_000;

const VERBS: Readonly<Record<ProgressPhase, string>> = {
  counting: 'counted',
  copying: 'copied',
  comparing: 'compared',
  replaying: 'replayed',
  reconciling: 'reconciled',
  sealing: 'sealed',
  verifying: 'verified',
};

const THINGS: Readonly<Record<ProgressPhase, string>> = {
  counting: 'events',
  copying: 'events',
  comparing: 'events',
  replaying: 'accounts',
  reconciling: 'accounts',
  sealing: 'events',
  verifying: 'events',
};

interface Figures {
  readonly phase: ProgressPhase;
  readonly events: number;
  readonly total: number | undefined;
  /** In milliseconds. */
  readonly at: number;
}

/**
 * Shows the progress of a copy or a verification every second: on a terminal in one changing line,
 * elsewhere as plain lines.
 */
export class CopyProgress {
  private phase: ProgressPhase | undefined;
  private readonly seen: { at: number; events: number }[] = [];
  private saidAt = -Infinity;
  private isLineOpen = false;
  /** The newest figures while they were not shown. */
  private unsaid: Figures | undefined;

  constructor(
    private readonly out: { readonly isTTY?: boolean; write(text: string): unknown },
    private readonly now: () => number = () => performance.now(),
  ) {}

  readonly at = (phase: ProgressPhase, events: number, total: number | undefined): void => {
    const figures = { phase, events, total, at: this.now() };
    if (phase === this.phase && figures.at - this.saidAt < EVERY_MS) {
      this.unsaid = figures;
      return;
    }
    if (phase !== this.phase) {
      this.sayUnsaid();
      this.phase = phase;
      this.seen.length = 0;
    }
    this.show(figures);
  };

  /** Shows the newest figures and ends the changing line. */
  end(): void {
    this.sayUnsaid();
    if (this.isLineOpen) this.out.write('\n');
    this.isLineOpen = false;
  }

  private sayUnsaid(): void {
    if (this.unsaid) this.show(this.unsaid);
  }

  private show({ phase, events, total, at }: Figures): void {
    this.seen.push({ at, events });
    while ((this.seen[1]?.at ?? at) < at - RATE_OVER_MS) this.seen.shift();
    this.saidAt = at;
    this.unsaid = undefined;
    this.say(progressLine(phase, events, total, this.rate(at, events)));
  }

  /** Events per second; 0: unknown. */
  private rate(now: number, events: number): number {
    const [oldest] = this.seen;
    return oldest === undefined || now === oldest.at
      ? 0
      : ((events - oldest.events) * 1_000) / (now - oldest.at);
  }

  private say(line: string): void {
    // `\x1b[K` clears the rest of a longer line.
    this.out.write(this.out.isTTY ? `\r${line}\x1b[K` : `${line}\n`);
    this.isLineOpen = this.out.isTTY ?? false;
  }
}

/** `copied 12000 of 50000 events (24 %), 3400 a second, 12 s left` */
export function progressLine(
  phase: ProgressPhase,
  events: number,
  total: number | undefined,
  rate: number,
): string {
  const share = total === undefined ? '' : ` of ${total}`;
  const percent =
    total === undefined || total === 0 ? '' : ` (${Math.floor((events * 100) / total)} %)`;
  const speed = rate > 0 ? `, ${Math.round(rate)} a second` : '';
  const left =
    rate > 0 && total !== undefined && events < total
      ? `, ${duration((total - events) / rate)} left`
      : '';
  return `${VERBS[phase]} ${events}${share} ${THINGS[phase]}${percent}${speed}${left}`;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 120) return `${whole} s`;
  return whole < 7_200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3_600)} h`;
}
