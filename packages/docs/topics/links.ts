/**
 * `shortlink.links`: one link, a batch in one request, and which links exist.
 *
 * @module sdk/links
 */
export {
  type BatchInput,
  type BatchResponse,
  type BatchResultItem,
  type BatchWaitOptions,
  type CompletedBatch,
  type CreateLinkBody,
  DEFAULT_REDIRECT_TYPE,
  type Link,
  type LinkInput,
  type Links,
  type LookupEntry,
  type LookupInput,
  type LookupResult,
  type LookupSource,
  MAX_BATCH_LINKS,
  MAX_BODY_BYTES,
  MAX_SYNC_BATCH_LINKS,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TARGET_URL_LENGTH,
  MAX_TITLE_LENGTH,
  type ProcessingBatch,
  REDIRECT_TYPES,
  type RedirectType,
} from '../../sdk/src/index.ts';
