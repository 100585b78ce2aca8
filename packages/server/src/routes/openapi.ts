import type { Context } from 'hono';
import { answer } from '../middleware/answer.ts';
import type { AppEnv } from '../middleware/env.ts';
import { openApiDocument } from '../openapi/document.ts';

/** `GET /openapi.json` (addition): made once, when first asked for. */
export function openApi(publicUrl: string) {
  let text: string | undefined;
  return (c: Context<AppEnv>): Response => {
    text ??= JSON.stringify(openApiDocument(publicUrl));
    return answer(c, text, 200, {
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, max-age=300',
      'Content-Type': 'application/json',
    });
  };
}
