"""A service for tests: a fake asker, users in memory, and a client without a network."""

from dataclasses import dataclass, field, replace
from secrets import token_hex

from radarstream.pipelines.serving.people import Role, User

TOKENS = {
    "asking": User("asking", frozenset({Role.ASK})),
    "reporting": User("reporting", frozenset({Role.REPORT})),
    "operating": User("operating", frozenset({Role.OPERATE})),
    "all": User("all", frozenset(Role)),
}


@dataclass
class PeopleInMemory:
    """Users and sessions without a database; a user's token is the key."""

    tokens: dict[str, User] = field(default_factory=lambda: dict(TOKENS))
    sessions: dict[str, User] = field(default_factory=dict)

    def by_token(self, token: str) -> User | None:
        return self.tokens.get(token)

    def by_session(self, secret: str) -> User | None:
        return self.sessions.get(secret)

    def open_session(self, user: User) -> User:
        opened = replace(user, session=token_hex(16))
        self.sessions[opened.session] = opened
        return opened

    def close_session(self, secret: str) -> None:
        self.sessions.pop(secret, None)
