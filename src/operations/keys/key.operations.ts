import { pause } from '../../foundation/pause.js';
import {
  keyStatus,
  rewrapSubjectKeys,
  rotateMasterKey,
  completeRotation,
  type KeyStatus,
} from '../../privacy/key-rotation.js';
import { readMasterKeyFile } from '../../privacy/master-key.js';
import { recordEverywhere } from '../audit.js';
import { help, text } from '../registry/members.js';
import { type Operation, serviceOperation } from '../registry/operation.js';

const LOOK_AGAIN_MS = 250;

export const operations: readonly Operation[] = [
  serviceOperation({
    name: 'key rotate',
    summary: 'makes another key the master key, with or without a running service',
    members: { newKeyFile: help(text, 'the new key: 64 hex digits, mode 0600') },
    isRecorded: true,
    examples: ['key rotate --new-key-file new-master.key'],
    run: async ({ core, by, operationsPool, note, warn, onProgress }, { newKeyFile }) => {
      const next = await readMasterKeyFile(newKeyFile);
      const pool = operationsPool();
      await rotateMasterKey(pool, core.masterKey, next);
      note('From now on both keys open the database.');
      await rewrapSubjectKeys(pool, core.keyring, (done) =>
        onProgress('encrypting keys of people', done),
      );
      // A command that is stopped here is finished by the service.
      const forever = new AbortController().signal;
      while (!(await completeRotation(pool, core.keyring))) await pause(LOOK_AGAIN_MS, forever);
      const result = await keyStatus(pool);
      const done = { operation: 'key rotate', by, parameters: {}, result };
      await recordEverywhere(core, done, { completed: 'the key is rotated', warn });
      return result;
    },
    print: (status, { line }) => {
      line(`The master key is ${status.masterKeys[0]?.id ?? ''} now.`);
      line(
        `Set MASTER_KEY_FILE to the new file and start every process again. ${adviceOn(status)}`,
      );
    },
  }),
  serviceOperation({
    name: 'key status',
    summary: 'the master keys in use, and whether an old one can be removed',
    examples: ['key status'],
    run: ({ operationsPool }) => keyStatus(operationsPool()),
    print: (status, { table, line }) => {
      table(
        [
          ['master key', 'id'],
          'state',
          ['processes', 'processes', 'amount'],
          ['can go', ({ state, canGo }) => (state === 'current' ? '' : canGo ? 'yes' : 'not yet')],
        ],
        status.masterKeys,
      );
      table(
        [
          ['key of people encrypted with', ({ generation }) => `key ${generation}`],
          ['people', 'subjects', 'amount'],
        ],
        status.sealedBy,
      );
      if (status.masterKeys.length > 1) line(adviceOn(status));
    },
  }),
];

const adviceOn = ({ oldKeysCanGo, waitsFor }: KeyStatus): string =>
  oldKeysCanGo
    ? 'The old key can go: only backups from before the rotation need it.'
    : `The old key cannot go yet: this waits for ${waitsFor ?? 'the next start'}.`;
