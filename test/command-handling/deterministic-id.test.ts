import { deterministicId } from '../../src/command-handling/deterministic-id.js';

/** Made by the first release. A log holds them: another id for one of these would append twice. */
test.each([
  ['3f1b0a3c-5d2e-4f78-91a2-b3c4d5e6f708', 0, '4a888976-4bba-5b4b-8284-f5c9e954cfca'],
  ['shop/live/an idempotency key', 'request', '2b94f14c-b69b-57fc-9c2a-cd9b870b83ff'],
  ['é😀', 'ü', '623c767a-67f7-504a-966c-cf689ba2ed52'],
  ['\ud800', 'grant', '809aba2a-a20c-5288-bdcd-fdd78d73e825'],
])('the id of %j and %j stays what it was', (cause, step, id) => {
  expect(deterministicId(cause, step)).toBe(id);
});
