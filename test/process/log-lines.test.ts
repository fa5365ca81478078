import { lineFormat } from '../../src/process/log-lines.js';

const LINE =
  '{"level":30,"time":"2026-01-02T03:04:05.678Z","route":"/api","status":200,"msg":"request"}\n';

test.each([
  ['json', true, LINE],
  [undefined, false, LINE],
  ['pretty', false, /^\[\d\d:\d\d:05\.678\] INFO: request \{"route":"\/api","status":200\}\n$/],
  [undefined, true, /^\[\d\d:\d\d:05\.678\] \u001b\[32mINFO\u001b\[39m: .*request.*\n$/],
] as const)('the format %s with a terminal: %s', async (format, isTerminal, expected) => {
  const line = (await lineFormat(format, isTerminal))(LINE);
  if (typeof expected === 'string') expect(line).toBe(expected);
  else expect(line).toMatch(expected);
});
