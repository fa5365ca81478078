import { StreamableFile } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';

/**
 * Drops what a handler returns behind the answer of a deadline: its work went on as it should. The
 * framework would warn of a second answer each time.
 */
export class OneAnswerAdapter extends FastifyAdapter {
  override reply(
    ...answer: Parameters<FastifyAdapter['reply']>
  ): ReturnType<FastifyAdapter['reply']> {
    const [response] = answer;
    const body: unknown = answer[1];
    // A file is still to be closed.
    if ('sent' in response && response.sent && !(body instanceof StreamableFile)) return response;
    return super.reply(...answer);
  }
}
