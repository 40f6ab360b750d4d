"""Names that general knowledge joins: countries, and what well-known acronyms stand for."""

from functools import cache

from radarstream.connectors.models.answer_agreement.words import key_of, plain_text, read_words

_COUNTRIES = (
    "Afghanistan Albania Algeria Andorra Angola Argentina Armenia Australia Austria Azerbaijan"
    " Bahamas Bahrain Bangladesh Barbados Belarus Belgium Belize Benin Bhutan Bolivia Bosnia"
    " Botswana Brazil Brunei Bulgaria Burundi Cambodia Cameroon Canada Chad Chile China Colombia"
    " Congo Croatia Cuba Cyprus Czechia Denmark Djibouti Dominica Ecuador Egypt Eritrea Estonia"
    " Eswatini Ethiopia Fiji Finland France Gabon Gambia Germany Ghana Greece Grenada Guatemala"
    " Guinea Guyana Haiti Honduras Hungary Iceland India Indonesia Iran Iraq Ireland Israel Italy"
    " Jamaica Japan Jordan Kazakhstan Kenya Kuwait Kyrgyzstan Laos Latvia Lebanon Lesotho Liberia"
    " Libya Liechtenstein Lithuania Luxembourg Madagascar Malawi Malaysia Maldives Mali Malta"
    " Mauritania Mauritius Mexico Moldova Monaco Mongolia Montenegro Morocco Mozambique Myanmar"
    " Namibia Nepal Netherlands Nicaragua Niger Nigeria Norway Oman Pakistan Palau Panama Paraguay"
    " Peru Philippines Poland Portugal Qatar Romania Russia Rwanda Samoa Senegal Serbia Singapore"
    " Slovakia Slovenia Somalia Spain Sudan Suriname Sweden Switzerland Syria Taiwan Tajikistan"
    " Tanzania Thailand Togo Tonga Tunisia Turkey Turkmenistan Tuvalu Uganda Ukraine Uruguay"
    " Uzbekistan Vanuatu Venezuela Vietnam Yemen Zambia Zimbabwe England Scotland Wales"
    " UK USA US DC Britain America"
)
COUNTRY_NAMES = tuple(_COUNTRIES.split())
# Keys of words that behind a comma say in which country a place is.
COUNTRIES = frozenset(key_of(name.casefold()) for name in COUNTRY_NAMES)

_STATES = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware Florida Georgia"
    " Hawaii Idaho"
    " Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts Michigan"
    " Minnesota Mississippi Missouri Montana Nebraska Nevada Hampshire Jersey Ohio Oklahoma Oregon"
    " Pennsylvania Tennessee Texas Utah Vermont Virginia Wisconsin Wyoming Carolina Dakota"
    " Ontario Quebec Manitoba Alberta Saskatchewan Queensland Victoria Tasmania Bavaria Saxony"
    " Rhode Mexico Columbia"
)
# The same for states and provinces, unless the place is better known elsewhere.
STATES = frozenset(key_of(name.casefold()) for name in _STATES.split())
_OF_TWO_WORDS = frozenset(map(key_of, ("north", "south", "new", "west", "island", "british")))
_STATE_LETTERS_WORDS = (
    "AL=Alabama AK=Alaska AZ=Arizona AR=Arkansas CA=California CO=Colorado CT=Connecticut"
    " DE=Delaware FL=Florida GA=Georgia HI=Hawaii ID=Idaho IL=Illinois IN=Indiana IA=Iowa"
    " KS=Kansas KY=Kentucky LA=Louisiana ME=Maine MD=Maryland MA=Massachusetts MI=Michigan"
    " MN=Minnesota MS=Mississippi MO=Missouri MT=Montana NE=Nebraska NV=Nevada OH=Ohio"
    " OK=Oklahoma OR=Oregon PA=Pennsylvania TN=Tennessee TX=Texas UT=Utah VT=Vermont"
    " VA=Virginia WA=Washington WI=Wisconsin WY=Wyoming"
)
STATE_LETTERS = dict(pair.split("=") for pair in _STATE_LETTERS_WORDS.split())
_CUT_SHORT_WORDS = (
    "Mass=Massachusetts Calif=California Fla=Florida Tex=Texas Penn=Pennsylvania Conn=Connecticut"
    " Ill=Illinois Mich=Michigan Minn=Minnesota Wash=Washington Ore=Oregon Ariz=Arizona"
    " Colo=Colorado Tenn=Tennessee Okla=Oklahoma Wis=Wisconsin Ala=Alabama Ont=Ontario"
)
STATES_CUT_SHORT = dict(pair.split("=") for pair in _CUT_SHORT_WORDS.split())
_SEVERAL_PLACES = (
    "Paris London Birmingham Cambridge Oxford Rome Athens Moscow Berlin Dublin Manchester Melbourne"
    " Naples Toledo Valencia Odessa Warsaw Lima Cairo Memphis Alexandria Delhi Lebanon Geneva"
    " Vienna Florence"
    " Milan Venice Bristol Richmond Springfield Portland Salem Kansas Columbus Columbia"
    " Plymouth York Worcester Bath Lincoln Durham Newcastle Perth Hamilton Sydney Petersburg Panama"
    " Dover Boston Mexico Madrid Peru Georgia Washington Troy Carthage Syracuse Corinth Palestine"
    " Glendale Arlington Hollywood Aurora Rochester Peoria Bethlehem Nazareth Hamburg Frankfort"
)
SEVERAL_PLACES = frozenset(key_of(name.casefold()) for name in _SEVERAL_PLACES.split())


def is_state(keys: frozenset[str] | set[str]) -> bool:
    """Whether these keys name a state or province, such as "Ohio" or "North Carolina"."""
    return bool(keys - _OF_TWO_WORDS) and keys - _OF_TWO_WORDS <= STATES


_ACRONYMS = """
USA US: United States|United States of America|America
UK: United Kingdom|Great Britain|Britain
UAE: United Arab Emirates
USSR: Soviet Union|Union of Soviet Socialist Republics
EU: European Union
UN: United Nations
DRC: Democratic Republic of the Congo|Democratic Republic of Congo
NZ: New Zealand
NYC: New York City|New York
LA: Los Angeles
DC: Washington|Washington D.C.
NATO: North Atlantic Treaty Organization|North Atlantic Treaty Organisation
WHO: World Health Organization|World Health Organisation
WTO: World Trade Organization|World Trade Organisation
IMF: International Monetary Fund
IAEA: International Atomic Energy Agency
ICC: International Criminal Court
ICJ: International Court of Justice
OPEC: Organization of the Petroleum Exporting Countries
OECD: Organisation for Economic Co-operation and Development
OSCE: Organization for Security and Co-operation in Europe
ASEAN: Association of Southeast Asian Nations
AU: African Union
ECB: European Central Bank
BOE: Bank of England
FED: Federal Reserve
IPCC: Intergovernmental Panel on Climate Change
UNESCO: United Nations Educational, Scientific and Cultural Organization
UNICEF: United Nations Children's Fund
CIA: Central Intelligence Agency
FBI: Federal Bureau of Investigation
NSA: National Security Agency
DOJ: Department of Justice|Justice Department
DHS: Department of Homeland Security
CDC: Centers for Disease Control and Prevention|Centers for Disease Control
FDA: Food and Drug Administration
EPA: Environmental Protection Agency
FAA: Federal Aviation Administration
FCC: Federal Communications Commission
FTC: Federal Trade Commission
SEC: Securities and Exchange Commission
IRS: Internal Revenue Service
FEMA: Federal Emergency Management Agency
NASA: National Aeronautics and Space Administration
NOAA: National Oceanic and Atmospheric Administration
NIH: National Institutes of Health
ESA: European Space Agency
EMA: European Medicines Agency
NHS: National Health Service
BBC: British Broadcasting Corporation
CNN: Cable News Network
NBC: National Broadcasting Company
ABC: American Broadcasting Company
NPR: National Public Radio
NYT: New York Times
WSJ: Wall Street Journal
AP: Associated Press
MIT: Massachusetts Institute of Technology
UCLA: University of California, Los Angeles
IBM: International Business Machines
GM: General Motors
GE: General Electric
BMW: Bayerische Motoren Werke
AWS: Amazon Web Services
GOP: Republican Party|Grand Old Party
ANC: African National Congress
BJP: Bharatiya Janata Party
CCP: Chinese Communist Party
SNP: Scottish National Party
NFL: National Football League
NBA: National Basketball Association
NHL: National Hockey League
MLB: Major League Baseball
MLS: Major League Soccer
NCAA: National Collegiate Athletic Association
UEFA: Union of European Football Associations
FIFA: Federation Internationale de Football Association
IOC: International Olympic Committee
ACLU: American Civil Liberties Union
NRA: National Rifle Association
NAACP: National Association for the Advancement of Colored People
ECJ: European Court of Justice
ECHR: European Court of Human Rights
UNHCR: United Nations High Commissioner for Refugees
WFP: World Food Programme
ILO: International Labour Organization
ITU: International Telecommunication Union
WWF: World Wide Fund for Nature
MI5: Security Service
ISRO: Indian Space Research Organisation
JAXA: Japan Aerospace Exploration Agency
CERN: European Organization for Nuclear Research
DEA: Drug Enforcement Administration
ATF: Bureau of Alcohol, Tobacco, Firearms and Explosives
NTSB: National Transportation Safety Board
USPS: United States Postal Service
USGS: United States Geological Survey
USDA: United States Department of Agriculture
OSHA: Occupational Safety and Health Administration
UAW: United Auto Workers
TUC: Trades Union Congress
LSE: London School of Economics
NYU: New York University
USC: University of Southern California
CBS: Columbia Broadcasting System
ITV: Independent Television
PBS: Public Broadcasting Service
AFP: Agence France-Presse
WWE: World Wrestling Entertainment
UFC: Ultimate Fighting Championship
PGA: Professional Golfers' Association
FIA: Federation Internationale de l'Automobile
MSF: Doctors Without Borders|Medecins Sans Frontieres
GDP: gross domestic product
CPI: consumer price index
AI: artificial intelligence
DNA: deoxyribonucleic acid
RNA: ribonucleic acid
HIV: human immunodeficiency virus
AIDS: acquired immunodeficiency syndrome
CO2: carbon dioxide
ISS: International Space Station
JFK: John F. Kennedy|John Fitzgerald Kennedy|Kennedy
FDR: Franklin D. Roosevelt|Franklin Delano Roosevelt|Roosevelt
MLK: Martin Luther King|Martin Luther King Jr.
AOC: Alexandria Ocasio-Cortez
"""


# Family names of which one bearer is meant unless another is named, with that bearer's given names.
_FAMILIES = (
    "Trump=Donald Obama=Barack Clinton=Bill,Hillary Bush=George Biden=Joe Kennedy=John,Robert"
    " Roosevelt=Franklin,Theodore Jackson=Michael,Andrew Curie=Marie Darwin=Charles Freud=Sigmund"
    " Churchill=Winston Gandhi=Mahatma,Mohandas,Indira Castro=Fidel Mandela=Nelson"
    " Sinatra=Frank Hemingway=Ernest Lennon=John McCartney=Paul Musk=Elon Murdoch=Rupert"
    " Bach=Johann Mozart=Wolfgang Mendelssohn=Felix Schumann=Robert Shelley=Percy,Mary"
    " Nehru=Jawaharlal Assad=Bashar Bhutto=Benazir,Zulfikar Marcos=Ferdinand Ford=Henry,Gerald"
    " Rockefeller=John Disney=Walt Tolstoy=Leo,Lev Jordan=Michael Woods=Tiger Messi=Lionel"
    " Ronaldo=Cristiano Federer=Roger Macron=Emmanuel Netanyahu=Benjamin Zelensky=Volodymyr"
    " Putin=Vladimir Merkel=Angela Thatcher=Margaret Blair=Tony Harris=Kamala Pence=Mike"
    " Lincoln=Abraham Reagan=Ronald Nixon=Richard Carter=Jimmy Truman=Harry Eisenhower=Dwight"
    " Beckham=David Kardashian=Kim Spears=Britney Cyrus=Miley Marley=Bob Dylan=Bob Hendrix=Jimi"
    " Presley=Elvis Hitler=Adolf Stalin=Joseph Einstein=Albert Newton=Isaac Edison=Thomas"
    " Picasso=Pablo Shakespeare=William Dickens=Charles Bezos=Jeff Gates=Bill Jobs=Steve"
    " Zuckerberg=Mark Buffett=Warren Soros=George Duterte=Rodrigo Modi=Narendra Erdogan=Recep"
    " Bolsonaro=Jair Johnson=Boris,Lyndon Trudeau=Justin Khamenei=Ali Hussein=Saddam"
)
_BEARERS = {
    key_of(family.casefold()): frozenset(key_of(name.casefold()) for name in given.split(","))
    for family, given in (entry.split("=") for entry in _FAMILIES.split())
}


_BEST_KNOWN_WORDS = (
    "Boston=Massachusetts,USA Memphis=Tennessee,USA Columbus=Ohio,USA Hollywood=California,USA"
    " Arlington=Virginia,USA Washington=DC,USA London=England,UK Paris=France Rome=Italy"
    " Athens=Greece Moscow=Russia Berlin=Germany Dublin=Ireland Lima=Peru Cairo=Egypt"
    " Vienna=Austria Geneva=Switzerland Venice=Italy Milan=Italy Florence=Italy Naples=Italy"
    " Madrid=Spain Warsaw=Poland Tripoli=Libya Delhi=India Valencia=Spain Perth=Australia"
    " Sydney=Australia Melbourne=Australia Birmingham=England,UK Manchester=England,UK"
    " Bristol=England,UK Oxford=England,UK Cambridge=England,UK Hamburg=Germany Odessa=Ukraine"
    " Petersburg=Russia Toledo=Spain Alexandria=Egypt"
)
# Places of several countries or states, with those in which the best known one is.
BEST_KNOWN = {
    key_of(city.casefold()): frozenset(
        key_of(name.casefold())
        for place in places.split(",")
        for name in (place, *({"UK": ("Britain",), "USA": ("America", "US")}.get(place, ())))
    )
    for city, places in (entry.split("=") for entry in _BEST_KNOWN_WORDS.split())
}


def has_other_bearer(family: str, given: set[str]) -> bool:
    """Whether a well-known family name alone means somebody without any of these given names.

    >>> has_other_bearer("trump", {"ivanka"}), has_other_bearer("trump", {"donald"})
    (True, False)
    """
    return family in _BEARERS and not _BEARERS[family] & given


def bare(text: str) -> str:
    """Keys of the content words of a text, joined: the form in which expansions are compared."""
    return " ".join(word.key for word in read_words(plain_text(text)))


# What stands for each acronym that is written in capitals inside a longer answer.
ACRONYMS = {
    short: longs.split("|")[0].strip()
    for line in _ACRONYMS.strip().splitlines()
    for shorts, _, longs in [line.partition(":")]
    for short in shorts.split()
    if short not in {"USA", "US", "UK", "DC", "CO2", "AI", "AU", "FED", "JFK", "FDR", "MLK", "SEC"}
}


@cache
def _table() -> dict[str, frozenset[str]]:
    table = {}
    for line in _ACRONYMS.strip().splitlines():
        shorts, _, longs = line.partition(":")
        for short in shorts.split():
            table[short.casefold()] = frozenset(bare(long) for long in longs.split("|"))
    return table


def expansions(acronym: str) -> frozenset[str]:
    """What a well-known acronym stands for, each in `bare` form; empty for any other.

    >>> bare("North Atlantic Treaty Organization") in expansions("nato")
    True
    """
    return _table().get(acronym, frozenset())
