import { pino } from 'pino';
import { loadConfig } from '../../src/config/config.js';
import { openCore } from '../../src/core/core.js';
import { acceptClock } from '../../src/operations/log/clock-acceptance.js';
import { done } from './operations.js';
import type { TestStores } from './running-service.js';

/**
 * After a test that turned the clock ahead, and recorded something: an operator accepts what the
 * log holds, so that writes continue under the present clock.
 */
export async function acceptClockOf({ databaseUrl, masterKeyFile }: TestStores): Promise<void> {
  const core = await openCore({
    config: loadConfig({ DATABASE_URL: databaseUrl, MASTER_KEY_FILE: masterKeyFile }),
    logger: pino({ level: 'silent' }),
    actor: { kind: 'system', id: 'test' },
    applicationName: 'test',
    acceptsClock: true,
  });
  try {
    const warn = (line: string): void => {
      throw new Error(line);
    };
    done(await acceptClock(core, { reason: 'the test is over', by: 'test', warn }));
  } finally {
    await core.close();
  }
}
