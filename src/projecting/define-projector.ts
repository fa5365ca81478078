import {
  ERASURES,
  forgottenBy,
  type Forgetting,
  type LedgerEvent,
  type ProjectedEvent,
  type Projector,
  type ReadModelTable,
  type RowKey,
  type Rows,
} from './projector.js';

/** See the members of `Projector`. */
interface EventHandler<E extends ProjectedEvent> {
  keys(event: LedgerEvent<E>): readonly RowKey[];
  furtherKeys?(event: LedgerEvent<E>, rows: Pick<Rows, 'get'>): readonly RowKey[];
  apply(event: LedgerEvent<E>, rows: Rows): void;
}

type Handled = Exclude<ProjectedEvent['type'], (typeof ERASURES)[number]>;
type EventOf<T extends ProjectedEvent['type']> = Extract<ProjectedEvent, { readonly type: T }>;

/** A handler for each type of event, and the cleaning after an erasure. */
interface ProjectorDefinition {
  readonly name: string;
  readonly tables: readonly ReadModelTable[];
  readonly on: { readonly [T in Handled]?: EventHandler<EventOf<T>> };
  /** Undefined: its rows hold no data of people. */
  readonly forgetting?: Forgetting;
}

const NOTHING_OF_PEOPLE: Forgetting = { lookups: () => [], clean: () => undefined };

/** `forgetting` handles both events of an erasure. */
export function defineProjector({ name, tables, on, forgetting }: ProjectorDefinition): Projector {
  // The compiler checks each handler against its type of event, but cannot follow the lookup.
  const handlers = new Map(Object.entries(on)) as Map<
    ProjectedEvent['type'],
    EventHandler<ProjectedEvent>
  >;
  if (forgetting) {
    const erasure = erasureHandler(forgetting);
    for (const type of ERASURES) handlers.set(type, erasure);
  }
  return {
    name,
    tables,
    handles: new Set(handlers.keys()),
    keys: (event) => handlers.get(event.event.type)?.keys(event) ?? [],
    furtherKeys: (event, rows) => handlers.get(event.event.type)?.furtherKeys?.(event, rows) ?? [],
    apply: (event, rows) => handlers.get(event.event.type)?.apply(event, rows),
    forgetting: forgetting ?? NOTHING_OF_PEOPLE,
  };
}

function erasureHandler({ immediate }: Forgetting): EventHandler<ProjectedEvent> {
  return {
    keys(event) {
      const erasure = forgottenBy(event);
      return erasure && immediate ? immediate.keys(erasure) : [];
    },
    furtherKeys(event, rows) {
      const erasure = forgottenBy(event);
      return erasure ? (immediate?.furtherKeys?.(erasure, rows) ?? []) : [];
    },
    apply(event, rows) {
      const erasure = forgottenBy(event);
      if (erasure) immediate?.clean(erasure, rows);
    },
  };
}
