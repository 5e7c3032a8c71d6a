import type { A2AEntry, EntryStore } from '../entry.ts'
import { cardType } from './read-catalog.ts'

const atOnce = 200

const maxTags = 20

/** Who publishes a catalog. */
export interface CatalogHost {
  readonly displayName: string
  readonly identifier?: string
  readonly documentationUrl?: string
  readonly logoUrl?: string
}

/** The agents of a registry as a catalog, page by page, so that it may have any size. Peers of the mesh have no cards that others could read. */
export async function* catalogText(entries: EntryStore, host: CatalogHost | undefined): AsyncGenerator<string> {
  yield `{"specVersion":"1.0",${host ? `"host":${JSON.stringify(host)},` : ''}"entries":[`
  let isFirst = true
  for (let after: { readonly name: string; readonly id: string } | undefined; ; ) {
    const page = await entries.find({ kind: 'a2a', limit: atOnce, uncounted: true, ...(after && { after }) })
    const texts = page.entries.flatMap((entry) => (entry.kind === 'a2a' ? [JSON.stringify(catalogEntryOf(entry))] : []))
    if (texts.length > 0) yield `${isFirst ? '' : ','}${texts.join(',')}`
    isFirst &&= texts.length === 0
    after = page.entries.at(-1)
    if (page.entries.length < atOnce) break
  }
  yield ']}'
}

/** Nothing of it changes while the card does not. */
function catalogEntryOf({ id, name, about, cardUrl, card, changed }: A2AEntry) {
  const tags = [...new Set(about.skills.flatMap((skill) => skill.tags))].slice(0, maxTags)
  return {
    identifier: id,
    displayName: name,
    mediaType: cardType,
    ...(cardUrl === undefined ? { data: card } : { url: cardUrl }),
    ...(about.description !== '' && { description: about.description }),
    ...(tags.length > 0 && { tags }),
    ...(about.version !== '' && { version: about.version }),
    updatedAt: new Date(changed).toISOString(),
  }
}
