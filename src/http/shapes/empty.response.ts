import { ApiOkResponse } from '@nestjs/swagger';

/** 200 with `{}`. */
export const ApiEmptyResponse = (): MethodDecorator =>
  ApiOkResponse({
    description: 'Done',
    schema: { type: 'object', maxProperties: 0, additionalProperties: false },
  });
