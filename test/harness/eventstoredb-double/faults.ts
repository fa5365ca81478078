/** The methods that are served, as the double counts and names them. */
export type MethodName = 'append' | 'read' | 'subscribe' | 'gossip' | 'supportedMethods';

/** A call as it came in. */
export interface IncomingCall {
  readonly method: MethodName;
  /** Headers, lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The stream that is written or read; `$all` for the log; undefined where there is none. */
  readonly stream: string | undefined;
}

export type FaultName =
  /** The write is stored; its sender never learns of it. `how` says what it sees instead. */
  | 'answer-lost'
  /**
   * The call takes effect immediately; the answer (of a read: the first event) comes after `ms`, or
   * when `until` has settled.
   */
  | 'answer-late'
  /** A read or a subscription ends without an error where its next event should come. */
  | 'stream-ended'
  /** All connections are broken when a call arrives; the call is not carried out. */
  | 'connection-cut'
  /** "Server Is Not Ready": appends, reads and subscriptions are refused. */
  | 'not-ready'
  /** A call that requires the leader is sent to the leader's endpoint, whatever this node is. */
  | 'not-leader'
  /** A subscription that is live is dropped at a burst, with up to 32 events of it sent. */
  | 'slow-consumer'
  /**
   * Until lifted: connections are taken, nothing comes through. For the next calls: they are
   * neither carried out nor answered.
   */
  | 'hung'
  /** A filtered read is silent for `ms`, or until `until`, before its first event. */
  | 'too-slow-scan'
  /** A read or a subscription stays open and leaves out the event that should come next. */
  | 'deaf'
  /** An append is refused as larger than this server takes, whatever its size. */
  | 'append-too-large';

export interface FaultOptions {
  /** The methods that it strikes; without this, all that it can strike. */
  readonly methods?: readonly MethodName[];
  readonly when?: (call: IncomingCall) => boolean;
  /** Of `answer-lost`: an error, broken connections, or no answer at all. By default an error. */
  readonly how?: 'unavailable' | 'cut' | 'silence';
  /** Of `answer-late` and `too-slow-scan`. */
  readonly ms?: number;
  readonly until?: Promise<unknown>;
  /** Of `slow-consumer`: how many events must be waiting. 1 by default. */
  readonly burst?: number;
  /** Of `not-ready` and `append-too-large`: ends the error's message, which may quote the call. */
  readonly quote?: string;
}

interface ArmedFault {
  readonly options: FaultOptions;
  left: number;
}

/**
 * What goes wrong, switched on and off while the double runs. Of several armed faults of one name,
 * the oldest that fits strikes.
 */
export class Faults {
  readonly #armed = new Map<FaultName, ArmedFault[]>();
  readonly #struck = new Map<FaultName, number>();

  constructor(private readonly onSwitch: (name: FaultName, on: boolean) => void) {}

  /** Strikes the next `calls` calls that it fits. */
  next(name: FaultName, calls = 1, options: FaultOptions = {}): void {
    this.#arm(name, { options, left: calls });
  }

  /** Strikes until it is cleared. */
  set(name: FaultName, options: FaultOptions = {}): void {
    // A hung node takes no calls at all, so there is none to strike.
    if (name !== 'hung') this.#arm(name, { options, left: Number.POSITIVE_INFINITY });
    this.onSwitch(name, true);
  }

  /** Lifts one fault, or all of them. */
  clear(name?: FaultName): void {
    for (const cleared of name ? [name] : (['hung', ...this.#armed.keys()] as const)) {
      this.#armed.delete(cleared);
      this.onSwitch(cleared, false);
    }
  }

  /** How often it has struck so far. */
  count(name: FaultName): number {
    return this.#struck.get(name) ?? 0;
  }

  /** Whether it strikes this call, and as what; it is used up once then. */
  strike(
    name: FaultName,
    call: IncomingCall,
    fits: (options: FaultOptions) => boolean = () => true,
  ): FaultOptions | undefined {
    const armed = this.#armed.get(name) ?? [];
    const fault = armed.find(({ options }) => fits(options) && this.#hits(options, call));
    if (!fault) return undefined;
    fault.left -= 1;
    if (fault.left <= 0) {
      this.#armed.set(
        name,
        armed.filter((other) => other !== fault),
      );
    }
    this.#struck.set(name, this.count(name) + 1);
    return fault.options;
  }

  #hits({ methods, when }: FaultOptions, call: IncomingCall): boolean {
    return (methods?.includes(call.method) ?? true) && (when?.(call) ?? true);
  }

  #arm(name: FaultName, fault: ArmedFault): void {
    this.#armed.set(name, [...(this.#armed.get(name) ?? []), fault]);
  }
}
