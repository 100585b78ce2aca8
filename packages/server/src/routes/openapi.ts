import type { Context } from 'hono';
import type { AppEnv } from '../middleware/env.ts';
import { openApiDocument } from '../openapi/document.ts';

/** `GET /openapi.json` (addition): made once, when first asked for. */
export function openApi(publicUrl: string) {
  let text: string | undefined;
  return (c: Context<AppEnv>): Response => {
    text ??= JSON.stringify(openApiDocument(publicUrl));
    c.header('Access-Control-Allow-Origin', '*');
    c.header('Cache-Control', 'public, max-age=300');
    return c.body(text, 200, { 'Content-Type': 'application/json' });
  };
}
