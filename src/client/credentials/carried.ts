/** What is needed to call with credentials, as one chunk for those who have some. */
export { authorizing } from '../authorize.ts'
export { byCard } from './by-card.ts'
