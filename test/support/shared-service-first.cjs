const { default: Sequencer } = require('@jest/test-sequencer');

/** Files of many seconds, the longest first. */
const LONG = [
  'simulator/simulation',
  'http/idempotency-and-positions',
  'simulator/rounds-that-failed',
  'event-log/eventstoredb-event-log',
  'operations/ledger',
  'operations/export-commands',
  'postgres/embedded-postgres',
  'privacy/erased-bytes',
  'http/webhooks',
  'mails/mail-crash',
  'faults/outage',
  'webhooks/webhook-post',
  'faults/refused-writes',
  'faults/silent-stop',
  'operations/log-move',
  'event-log/eventstoredb-refusals',
  'mails/mails',
  'faults/kill',
  'faults/event-store-outage',
];

const sharesService = ({ context }) => context.config.displayName?.name === 'api';

/**
 * Files that share a service come first: a worker ends it for the first file of another project.
 * A fresh checkout remembers no durations, and jest begins with the largest files: a small file that
 * takes long would begin last, and the whole run would wait for it alone.
 */
module.exports = class SharedServiceFirst extends Sequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const at = LONG.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
      return at < 0 ? LONG.length : at;
    };
    return super
      .sort(tests)
      .sort((one, other) => sharesService(other) - sharesService(one) || rank(one) - rank(other));
  }
};
