export default function Page() {
  return (
    <main>
      <h1>Reporter</h1>
      <p>
        The agent is at <code>/agents/reporter</code>. Call it with <code>npm run client</code>.
      </p>
    </main>
  )
}
