"""English words of one meaning, inflections that no rule can join, and people of a country.

Written by hand from general knowledge. A group holds words that answer a question alike in almost
every context; words that merely belong together (spring, autumn) are in no group. A word may be in
several groups ("fire"): two words are alike if one group holds both.
"""

import re
from functools import cache, lru_cache
from threading import Lock

from snowballstemmer import stemmer

from radarstream.connectors.models.answer_agreement.known_names import COUNTRIES, COUNTRY_NAMES
from radarstream.connectors.models.answer_agreement.words import key_of

_GROUPS = """
big large huge enormous giant vast sizeable massive major|biggest largest greatest|tallest highest
farthest furthest|small little tiny minor|smallest tiniest|bigger larger
quick fast rapid swift speedy|fastest quickest|slow sluggish|begin start commence launch open
end finish conclude close|stop halt cease quit end|buy purchase acquire|sell sale
beat defeat overcome|win victory winner triumph|lose loss defeat|win clinch secure take claim
film movie picture|all every each everyone everybody
rise increase grow growth climb gain jump surge up
fall decrease decline drop shrink slide dip down|raise hike increase
cut reduce lower trim slash reduction decrease|plunge tumble
allow permit let authorise authorize legal|ban prohibit forbid outlaw|need require must mandatory
compulsory obligatory mandatory required|kid child youngster|baby infant newborn
lawyer attorney solicitor barrister|doctor physician medic|jail prison imprisonment|shop store
illness disease sickness ailment|sick ill unwell|plan intend intention aim
choose pick select elect opt|show display exhibit|aircraft plane airplane aeroplane jet
car automobile|truck lorry|bike bicycle|motorbike motorcycle|ship vessel boat|train railway rail
railroad railway|worker employee staff staffer|home house household dwelling residence
flat apartment|rubbish trash garbage waste|petrol gasoline|mother mom mum|father dad|boy son
girl daughter|grandmother grandma|grandfather grandpa|wife spouse|husband spouse|fire dismiss sack
hire employ recruit|appoint name nominate|murder kill slay|die dead deceased perish|death die
injure wound hurt|help assist aid assistance|answer reply respond response|ask request
build construct erect construction|destroy demolish destruction demolition wreck
create make produce manufacture build|invent devise inventor invention|find discover discovery
discover discoverer|invent inventor|write author writer pen|paint painter|compose composer
design designer|found founder establish start create|direct director|sing singer|teach teacher
pupil student teach|own owner possess have|rent lease hire|repair fix mend|clean wash|close shut
happen occur|hide conceal|steal theft|rob robbery|crash collision collide|quake earthquake
storm tempest|hurricane cyclone typhoon|fire blaze|explosion blast explode|war conflict
peace truce|truce ceasefire armistice|agreement deal accord pact treaty
talk negotiation discussion|negotiate discuss|meeting summit conference
protest demonstration demonstrate|strike walkout|vote ballot|law legislation statute act
rule regulation|court tribunal|guilty convict conviction|acquit acquittal|fine penalty|tax levy
money cash|cost price|salary wage pay|profit earnings|revenue turnover|bankrupt insolvent
bankruptcy insolvency|invest investment|company firm business corporation enterprise|factory plant
office bureau|boss chief head leader|manager coach|chairman chair chairwoman chairperson
soldier troop|police cop policeman|country nation|town village|road street
road highway motorway freeway|forest wood woodland|mountain mount peak|rain rainfall|snow snowfall
cold chilly|weak feeble|strong powerful|rich wealthy affluent|cheap inexpensive|expensive costly
free gratis|easy simple|hard difficult tough|dangerous hazardous unsafe perilous|safe harmless
correct right accurate|wrong incorrect false untrue|true genuine real authentic
fake counterfeit forged bogus|rumor rumour gossip|odd strange unusual weird|normal usual typical
common widespread frequent|rare uncommon infrequent|rarely seldom infrequently|often frequently
yearly annual annually|previous former ex earlier prior previously formerly
next following subsequent|last final|first initial original|new recent latest|newer later
elderly old aged|young youthful|near nearby beside close|exact exactly precise precisely
nearly almost virtually|only just merely solely|mostly mainly chiefly primarily largely
main principal chief primary|maybe perhaps possibly might may could possible|probably likely
definitely certainly surely|allegedly alleged supposedly reportedly|secret secretly
public publicly|private privately|suddenly abruptly|gradually slowly
entirely completely totally fully whole entire full|partial partially partly|jointly together
support back endorse|oppose against|reject refuse refusal rejection
accept approve pass adopt ratify|approve approval|postpone delay defer postponement
cancel cancellation scrap|replace replacement substitute succeed|remove removal|leave depart exit
return come|enter entry|travel journey trip go|stay remain|live reside dwell
marry wed marriage wedding|cook chef|eat consume|drink beverage|food meal|dinner supper
candy sweet|cookie biscuit|aubergine eggplant|courgette zucchini|maize corn|coriander cilantro
soccer football|match game fixture|draw tie|prize award|magazine periodical|song track
record album|band group|program programme show series|telly television tv|phone telephone mobile
computer pc|website site|email mail|picture photo photograph image
clothes clothing garment apparel|trousers pants|sweater jumper pullover|couch sofa|rug carpet
lift elevator|tap faucet|torch flashlight|nappy diaper|pavement sidewalk|holiday vacation
queue line|exam examination test|subject topic|study research
investigate investigation inquiry probe|scientist researcher|cause reason
result outcome consequence|effect impact influence|problem issue difficulty|mistake error
fault defect flaw|faulty defective|damage harm|tumor tumour|flu influenza|adrenaline epinephrine
paracetamol acetaminophen|shot injection jab inject|vaccine vaccination vaccinate
immunisation immunization|tablet pill|medicine medication drug|surgery operation operate
kidney renal|heart cardiac|liver hepatic|lung pulmonary|collarbone clavicle|kneecap patella
shinbone tibia|thighbone femur|windpipe trachea|belly abdomen stomach|nosebleed epistaxis
chickenpox varicella|measles rubeola|tetanus lockjaw|male man|female woman
person human individual people|crowd audience|attend attendance|number count quantity amount
share proportion part|double twofold doubled|triple treble threefold|half halve halved|maximum max
minimum min|sunrise dawn daybreak|sunset dusk nightfall|midday noon|daily everyday|grey gray
colour color|north northern northerly northward|south southern southerly southward
northeast northeastern northeasterly|northwest northwestern northwesterly
southeast southeastern southeasterly|southwest southwestern southwesterly
east eastern easterly eastward|west western westerly westward|left lefthand leftward
right righthand rightward|centre center central middle|up upward upwards|down downward downwards
forward forwards|backward backwards|anticlockwise counterclockwise|harbor harbour port
airport aerodrome|border frontier boundary|coast shore seaside|headquarters hq
neighbourhood neighborhood district|theatre theater|hotel inn|pub bar|garden yard
wood wooden timber|wool woollen|gold golden|dog canine|cat feline|cow cattle|pig swine|insect bug
snake serpent|ability capability|achieve accomplish reach attain|announce declare announcement
apologise apologize apology|arrest detain apprehend|attack assault|attempt try|carry transport
change alter modify|claim assert allege|gather collect collection|compete competition contest
continue keep|control command|convert conversion transform|copy duplicate|danger risk hazard peril
deliver delivery|deny denial|divide split division|donate give donation|flee escape
evacuate evacuation|examine inspect inspection|expand expansion extend enlarge|expel oust
explain explanation|fail failure|fight battle|release free liberate|get obtain receive
improve improvement better|include contain comprise|inform tell notify|jump leap
limit restrict restriction limitation|merge merger|move relocate|reverse overturn
predict forecast prediction|prepare preparation|prevent avert|promise pledge vow
protect protection|publish publication|recover recovery|renew renewal|save rescue|reveal disclose
seize confiscate|smoke smoking|speak speech|speed velocity|suffer have
suggest propose suggestion proposal|survive survival survivor|suspend suspension|threaten threat
treat treatment|use usage utilise utilize|understand comprehend|warn warning|withdraw withdrawal
require requirement|decide decision|employ job|invade invasion|conquer conquest
inhabit inhabitant resident|invite invitation|elect election|resign resignation|retire retirement
graduate graduation|assassinate kill|behead decapitate|strangle choke|drown drowning|freeze frozen
melt thaw|boil boiling|cease stop|rotate spin|orbit circle|shine glow|evaporate evaporation
erupt eruption|pollute pollution|sink founder|capsize overturn|derail derailment|ignite light
extinguish douse|leak leakage|lung pulmonary|tooth dental|skin dermal|eye ocular|bone skeletal
brain cerebral|moon lunar|sun solar|star stellar|sea ocean marine|city urban|breastbone sternum
jawbone mandible|tailbone coccyx|thighbone femur|abolish scrap end|country rural|king royal
autumn fall|luggage baggage|rooster cock|donkey ass|rabbit bunny|seagull gull|mum mummy
present gift|start beginning|end ending|guide manual handbook|edition version|wage earnings
worldwide globally global|nationwide national|overseas abroad|underwater submerged|twin two
sole only single|pair two couple|duo two pair|trio three|quartet four|decade ten|century hundred
dozen twelve|zero nil none nought nothing|senior elder|junior younger
spokesman spokesperson spokeswoman|actor actress|waiter waitress server|policeman officer
fireman firefighter|postman mailman|businessman entrepreneur|landlord owner|sir mister|miss ms
farmer grower|thief burglar robber|killer murderer|refugee migrant|voter elector|taxpayer citizen
tourist visitor|fan supporter|opponent rival|ally partner|foe enemy|buddy friend|host presenter
judge justice|clergyman priest|author novelist|overweight obese|blind sightless
pregnant expecting|asleep sleeping|empty vacant|broke penniless|crooked bent
legal lawful|storey story floor level|turnout voter vote|power run operate fuel
hoax fake|bottom last|top first|pair two couple|contagious catching infectious
musician player|deadly fatal lethal|late delay|novel book|annual yearly
possibly may|accuse allege|quarterly quarter|rescuer rescue|old former formerly
follow succeed successor
math maths mathematics
bad poor|bird avian|money fund funding|weather condition|aluminium aluminum|jewellery jewelry
tyre tire
plough plow|defence defense|licence license|offence offense|fibre fiber|cheque check|pyjamas pajamas
moustache mustache|sceptical skeptical|storey story|kerb curb|draught draft|programme program
manoeuvre maneuver|anaemia anemia|foetus fetus|oestrogen estrogen|leukaemia leukemia
paediatric pediatric
haemorrhage hemorrhage|diarrhoea diarrhea|archaeology archeology|encyclopaedia encyclopedia
analyse analyze|catalogue catalog|dialogue dialog|axe ax|doughnut donut|yoghurt yogurt
whisky whiskey
mount mountain|crash accident|fly flight|law legislation bill
damp wet moist|filthy dirty|tasty delicious
"""
_IRREGULAR = """
buy bought|sell sold|beat beaten|begin began begun|rise rose risen|fall fell fallen
grow grew grown|shrink shrank shrunk|win won|lose lost|write wrote written|sing sang sung
teach taught|steal stole stolen|build built|make made|take took taken|give gave given
get got gotten|go went gone|come came|meet met|pay paid|say said|see saw seen|send sent
speak spoke spoken|spend spent|stand stood|strike struck|swim swam swum|tell told|think thought
throw threw thrown|break broke broken|bring brought|catch caught|choose chose chosen
drink drank drunk|drive drove driven|eat ate eaten|feel felt|fight fought|flee fled|fly flew flown
forbid forbade forbidden|freeze froze frozen|hear heard|hide hid hidden|hold held|keep kept
know knew known|lead led|lend lent|mean meant|ride rode ridden|ring rang rung|run ran
shake shook shaken|sink sank sunk|sit sat|sleep slept|slide slid|become became
bear bore born borne|blow blew blown|forget forgot forgotten|sweep swept
overthrow overthrew overthrown|undergo underwent|tear tore torn|wake woke woken|leave left
withdraw withdrew withdrawn|understand understood|wear wore worn|draw drew drawn|shoot shot
man men|woman women|child children|mouse mice|foot feet|tooth teeth|goose geese|die dying
go goes|do does did done|wolf wolves|leaf leaves|knife knives|life lives|wife wives|half halves
loaf loaves|thief thieves
find found|bite bit bitten|seek sought|lay laid|light lit|dig dug|hang hung|shine shone|spin spun
stick stuck|sting stung|swing swung|bind bound|breed bred|deal dealt|bend bent|leap leapt
burn burnt|learn learnt|prove proven|show shown|sew sewn|weep wept|creep crept|swear swore sworn
spill spilt|dream dreamt|spring sprang sprung|cling clung|grind ground
"""
_PEOPLES = """
french france|german germany|spanish spain|italian italy|british britain|english england
scottish scotland|welsh wales|irish ireland|dutch netherlands|belgian belgium|swiss switzerland
austrian austria|swedish sweden|norwegian norway|danish denmark|finnish finland|polish poland
czech czechia|slovak slovakia|hungarian hungary|romanian romania|bulgarian bulgaria|greek greece
turkish turkey|russian russia|ukrainian ukraine|chinese china|japanese japan|korean korea
indian india|pakistani pakistan|iranian iran|iraqi iraq|israeli israel|egyptian egypt
brazilian brazil|argentine argentinian argentina|chilean chile|mexican mexico|canadian canada
australian australia|american america|portuguese portugal|cuban cuba|peruvian peru
colombian colombia|venezuelan venezuela|nigerian nigeria|kenyan kenya|ethiopian ethiopia
moroccan morocco|algerian algeria|tunisian tunisia|thai thailand|vietnamese vietnam
indonesian indonesia|malaysian malaysia|filipino philippine philippines|afghan afghanistan
syrian syria|lebanese lebanon|croatian croatia|serbian serbia|slovenian slovenia|icelandic iceland
estonian estonia|latvian latvia|lithuanian lithuania|ghanaian ghana|jamaican jamaica
bolivian bolivia|european europe|african africa|asian asia|saudi saudis
"""
# Countries of whose people the name follows no rule, or is that of another country.
_NO_RULE = frozenset(("niger", "dominica", "guinea", "congo"))
_LONG_ADVERB = 6  # letters from which "ly" is an ending
_LEAST_ROOT = 3
_ENDING = re.compile(
    r"(?:er|or|ation|ion|ment|ing|ed|al|ance|ence|e|ive|iv|ity|iti|ness|y|i|t|or|ant|ent)$"
)
_TOO_SHORT = 2  # letters of words that keep their endings


@cache
def _base_forms() -> dict[str, str]:
    return {form: group[0] for group in _rows(_IRREGULAR) for form in group[1:]}


@cache
def _words() -> dict[str, list[tuple[str, int]]]:
    """The words of all groups by the letter that a stem of theirs begins with, each with the number
    of its group. A stem begins as its word does, or as the base form of an irregular one.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for number, group in enumerate(_rows(_GROUPS) + _rows(_PEOPLES) + _peoples_by_rule()):
        for word in group:
            for letter in {word[0], _base_forms().get(word, word)[0]}:
                found.setdefault(letter, []).append((word, number))
    return found


@cache  # by letter, since to stem all words takes half a second
def _groups(letter: str) -> dict[str, set[int]]:
    """For each stem that begins with the letter the numbers of the groups that hold it."""
    found: dict[str, set[int]] = {}
    for word, number in _words().get(letter, ()):
        for stem in (stem_of(word), _snowball(word)):
            found.setdefault(stem, set()).add(number)
    return found


def _peoples_by_rule() -> list[list[str]]:
    """Each country with the regular forms of its people: Kenya, Kenyan; Sudan, Sudanese."""
    endings = ("n", "nian", "an", "ian", "ese", "i", "lese")
    groups = []
    for country in (name.casefold() for name in COUNTRY_NAMES):
        if country not in _NO_RULE:
            short = country[:-1] if country[-1] in "aeo" else country
            forms = [stem + ending for stem in (country, short) for ending in endings]
            groups.append([country, *dict.fromkeys(forms)])
    return groups


@cache
def _countries() -> frozenset[str]:
    peoples = _rows(_PEOPLES) + _peoples_by_rule()
    return frozenset(word for group in peoples for word in group)


def is_of_a_country(lowered: str) -> bool:
    """Whether a word in lower case names a country or its people."""
    return lowered in _countries() or key_of(lowered) in COUNTRIES


def _rows(table: str) -> list[list[str]]:
    return [row.split() for line in table.split("\n") for row in line.split("|") if row]


_STEMMER = stemmer("english")
_LOCK = Lock()  # the stemmer keeps its word in itself


@lru_cache(maxsize=65_536)
def _snowball(word: str) -> str:
    if len(word) <= _TOO_SHORT or not word.isascii():
        return word
    with _LOCK:
        return str(_STEMMER.stemWord(word))


def stem_of(lowered: str) -> str:
    """The stem of a word, irregular forms included.

    >>> stem_of("bought") == stem_of("buys"), stem_of("children")
    (True, 'child')
    """
    base = _base_forms().get(lowered, lowered)
    if len(base) > _LONG_ADVERB and base.endswith("men"):
        base = f"{base[:-2]}an"  # firemen
    return _snowball(base.removesuffix("ly") if len(base) > _LONG_ADVERB else base)


@lru_cache(maxsize=65_536)
def root_of(word: str) -> str:
    """A word without its derivational endings: what "voters" and "voted" have in common."""
    found = stem_of(word)
    while len(shorter := _ENDING.sub("", found)) >= _LEAST_ROOT and shorter != found:
        found = shorter
    return found


@lru_cache(maxsize=65_536)
def alike(one: str, other: str) -> bool:
    """Whether two words in lower case are forms of one word, or mean the same by the table.

    >>> alike("purchased", "bought"), alike("spring", "autumn")
    (True, False)
    """
    mine, theirs = ({word, stem_of(word), _snowball(word)} for word in (one, other))
    if mine & theirs:
        return True
    known = [{n for s in side for n in _groups(s[:1]).get(s, ())} for side in (mine, theirs)]
    return bool(known[0] & known[1])
