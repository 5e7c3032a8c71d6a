import { connect } from 'parley-a2a/client'

const counter = await connect(new URL('/agent', location.href))
const output = document.querySelector('output')

document.querySelector('form').addEventListener('submit', async (event) => {
  event.preventDefault()
  output.textContent = ''
  const text = new FormData(event.target).get('text')
  for await (const { type, artifact, status } of counter.stream(`${text}`)) {
    if (type === 'artifact') output.textContent += artifact.parts.map(({ text }) => text).join('')
    if (type === 'status' && status.message) output.textContent += status.message.parts.map(({ text }) => text).join('')
  }
})
